// Texts of the components that all views share.

import { texts } from "../texts";

export const shared = texts({
  close: { en: "Close", "zh-cn": "关闭" },
  cancel: { en: "Cancel", "zh-cn": "取消" },
  back: { en: "Back to the list", "zh-cn": "返回列表" },
  loading: { en: "Loading", "zh-cn": "正在加载" },
  copied: { en: "Copied", "zh-cn": "已复制" },
  copy: { en: "Copy", "zh-cn": "复制" },
  copyCurl: { en: "Copy as curl", "zh-cn": "复制为 curl" },
  tryAgain: { en: "Try again", "zh-cn": "重试" },
  errorTitle: { en: "This could not be read", "zh-cn": "无法读取" },
  errorIds: { en: "Code {code}, request {request}", "zh-cn": "代码 {code}，请求 {request}" },
  denied: { en: "You may not use {operation}.", "zh-cn": "您无权使用 {operation}。" },
  gone: { en: "This does not exist, or is not yours.", "zh-cn": "该内容不存在，或不属于您。" },
  notFound: { en: "There is no view “{view}”.", "zh-cn": "没有名为“{view}”的视图。" },
  notFoundTitle: { en: "Not found", "zh-cn": "未找到" },
  dropped: { en: "Unknown filters were dropped: {names}", "zh-cn": "已忽略未知的筛选条件：{names}" },
  filters: { en: "Filters", "zh-cn": "筛选" },
  clearFilters: { en: "Clear filters", "zh-cn": "清除筛选" },
  any: { en: "any", "zh-cn": "不限" },
  changed: { en: "The list has changed.", "zh-cn": "列表已有变化。" },
  readAgain: { en: "Read again", "zh-cn": "重新读取" },
  arrived: { en: "{count} new", "zh-cn": "新增 {count} 条" },
  rows: { en: "{count} rows", "zh-cn": "{count} 行" },
  rowsSoFar: { en: "{count} rows so far, more on scrolling", "zh-cn": "已显示 {count} 行，滚动以加载更多" },
  showAll: { en: "Show all {count}", "zh-cn": "显示全部 {count} 项" },
  items: { en: "{count} items", "zh-cn": "{count} 项" },
  typeToConfirm: { en: "Type {text} to confirm", "zh-cn": "输入 {text} 以确认" },
  reference: { en: "Open reference {id}", "zh-cn": "打开引用 {id}" },
  plainText: { en: "Shown plain: it is larger than 256 KiB.", "zh-cn": "内容超过 256 KiB，以纯文本显示。" },
});
