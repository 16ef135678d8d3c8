import type { Context, NextHookPayload } from "@ambit/runtime";

const VOUCHER = "models.agents.expense.voucher";

/** Answers without a model: the last thing that was said is a command. */
export function Next(ctx: Context, payload: NextHookPayload) {
  const said = String(payload.messages[payload.messages.length - 1]?.content ?? "");
  const vouchers = run(ctx, said);
  ctx.Send(vouchers.map(shown).join("\n") || "There is no such voucher that you may see.");
  return { data: vouchers };
}

function run(ctx: Context, said: string): any[] {
  const file = said.match(/^file (.+) (\d+(?:\.\d{1,2})?)$/i);
  if (file) {
    return [found(createRecord(ctx, { title: file[1], amount: Number(file[2]) }))];
  }
  const approve = said.match(/^approve (\d+)$/i);
  if (approve) {
    return approved(Number(approve[1]));
  }
  return getRecords(ctx);
}

/** As in the context reference: the columns are written by hand, and must be the caller's own. */
function createRecord(ctx: Context, data: Record<string, any>): number {
  const authorized = ctx.authorized;
  return Process(`${VOUCHER}.Create`, {
    ...data,
    __yao_created_by: authorized.user_id,
    __yao_updated_by: authorized.user_id,
    __yao_team_id: authorized.team_id || null,
    __yao_tenant_id: authorized.tenant_id || null,
  });
}

/** A voucher that the caller may not see is one that is not there. */
function approved(id: number): any[] {
  try {
    Process(`${VOUCHER}.Update`, id, { status: "approved" });
  } catch (error: any) {
    if (error.code === "not_found") {
      return [];
    }
    throw error;
  }
  return [found(id)];
}

function found(id: number): any {
  return Process(`${VOUCHER}.Find`, id, { select: ["id", "title", "amount", "status"] });
}

/** As in the context reference: a condition by hand only narrows what the caller may see anyway. */
function getRecords(ctx: Context): any[] {
  const authorized = ctx.authorized;
  const constraints = authorized.constraints || {};
  const wheres: any[] = [];
  if (constraints.team_only && authorized.team_id) {
    wheres.push({
      wheres: [
        { column: "__yao_created_by", value: authorized.user_id },
        { column: "__yao_team_id", value: authorized.team_id, method: "orwhere" },
      ],
    });
  } else if (constraints.owner_only) {
    wheres.push({ column: "__yao_created_by", value: authorized.user_id });
  }
  return Process(`${VOUCHER}.Get`, {
    select: ["id", "title", "amount", "status"],
    wheres: wheres,
    orders: [{ column: "id", option: "asc" }],
  });
}

function shown(voucher: any): string {
  return `${voucher.id}: ${voucher.title}, ${voucher.amount} (${voucher.status})`;
}
