// Names of the views, and what each says while it has nothing to show.

import { texts } from "../texts";

export const viewTexts = texts({
  chats: { en: "Chats", "zh-cn": "对话" },
  chatsEmpty: { en: "No chats yet. Choose an agent and write.", "zh-cn": "尚无对话。请选择一个智能体并开始输入。" },
  turns: { en: "Turns", "zh-cn": "轮次" },
  turnsEmpty: { en: "No turns yet. They appear when somebody writes.", "zh-cn": "尚无轮次。有人发送消息后会出现在这里。" },
  contexts: { en: "Contexts", "zh-cn": "上下文" },
  contextsEmpty: { en: "No contexts yet. They appear when somebody writes.", "zh-cn": "尚无上下文。有人发送消息后会出现在这里。" },
  memory: { en: "Memory", "zh-cn": "记忆" },
  memoryEmpty: { en: "Nothing is remembered yet. A hook makes a key: ctx.memory.user.Set(\"name\", \"Ann\")", "zh-cn": "尚无记忆。钩子可以写入键：ctx.memory.user.Set(\"name\", \"Ann\")" },
  usage: { en: "Usage", "zh-cn": "用量" },
  usageEmpty: { en: "No model was called in this time.", "zh-cn": "这段时间内没有调用模型。" },
  agents: { en: "Agents", "zh-cn": "智能体" },
  agentsEmpty: { en: "No agents. Make an app with: ambit new FOLDER", "zh-cn": "没有智能体。可用命令创建应用：ambit new FOLDER" },
  data: { en: "Data", "zh-cn": "数据" },
  dataEmpty: { en: "No models. Begin with a file models/order.mod.yao in the app.", "zh-cn": "没有数据模型。请在应用中新建 models/order.mod.yao。" },
  knowledge: { en: "Knowledge", "zh-cn": "知识库" },
  knowledgeEmpty: { en: "No collections yet. Drop a file to begin.", "zh-cn": "尚无集合。拖入文件即可开始。" },
  access: { en: "Access", "zh-cn": "访问控制" },
  accessEmpty: { en: "No keys yet. Make one with: ambit keys new --user NAME", "zh-cn": "尚无密钥。可用命令创建：ambit keys new --user NAME" },
  system: { en: "System", "zh-cn": "系统" },
  systemEmpty: { en: "Nothing to report.", "zh-cn": "没有可报告的内容。" },
});
