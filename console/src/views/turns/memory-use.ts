// Which keys of memory the hooks of a turn used, as the metadata of their nodes say it.

export interface UsedKey {
  space: string;
  key: string;
  type?: string;
  bytes?: number;
}

export interface MemoryUseRow {
  node: string;
  hook: string;
  use: "read" | "written" | "context";
  /** Null: it was used, but its keys were not recorded. */
  used: UsedKey | null;
  /** How often, where no keys are recorded. */
  count: number;
}

interface HookNode {
  id: string;
  label: string;
  metadata: Record<string, unknown>;
  facts?: Record<string, unknown> | null;
}

export function memoryRows(hooks: readonly HookNode[]): MemoryUseRow[] {
  return hooks.flatMap((hook) => {
    const memory = hook.metadata.memory;
    return isRecord(memory) ? named(hook, memory) : counted(hook);
  });
}

function named(hook: HookNode, memory: Record<string, unknown>): MemoryUseRow[] {
  return (["read", "written", "context"] as const).flatMap((use) => {
    const keys = Array.isArray(memory[use]) ? memory[use] : [];
    return keys.filter(isRecord).map((used) => {
      const space = typeof used.space === "string" ? used.space : use === "context" ? "context" : "";
      return { node: hook.id, hook: hook.label, use, used: { ...used, space, key: String(used.key) } as UsedKey, count: 1 };
    });
  });
}

function counted(hook: HookNode): MemoryUseRow[] {
  return (["read", "written"] as const).flatMap((use) => {
    const found = hook.facts?.[`memory_${use}`];
    const count = isRecord(found) && typeof found.calls === "number" ? found.calls : 0;
    return count === 0 ? [] : [{ node: hook.id, hook: hook.label, use, used: null, count }];
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
