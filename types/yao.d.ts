// The names under which apps of Yao import the same things.

declare module "@yao/runtime" {
  export * from "@ambit/runtime";
}
declare module "@yao/agent" {
  export * from "@ambit/runtime";
}
