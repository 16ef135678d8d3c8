// What is said of parts of a view that the caller may not use.

import { texts } from "../texts";

export const notGrantedTexts = texts({
  notGranted: { en: "Not shown, as you may not use it: {names}", "zh-cn": "以下内容未显示，因为您无权使用：{names}" },
});
