// The examples of the Yao Agent Context API reference, with types for their parameters.

import type { Context, Message, NextHookPayload, NextHookResponse, HookCreateResponse } from "@ambit/runtime";

// Get owner ID (team takes priority)
function getOwnerID(ctx: Context) {
  const authorized = ctx.authorized;
  if (!authorized) return null;
  return authorized.team_id || authorized.user_id;
}

// Check if team context
function isTeamContext(ctx: Context) {
  return !!ctx.authorized?.team_id;
}

// Apply permission filter based on constraints
function applyPermissionFilter(ctx: Context) {
  const authorized = ctx.authorized;
  const constraints = authorized?.constraints || {};
  const wheres = [];

  if (constraints.owner_only || constraints.creator_only) {
    wheres.push({ column: "__yao_created_by", value: authorized.user_id });
  }

  if (constraints.team_only && authorized.team_id) {
    wheres.push({ column: "__yao_team_id", value: authorized.team_id });
  }

  return wheres;
}

function createRecord(ctx: Context, data: Record<string, any>) {
  const authorized = ctx.authorized;
  return Process("models.agents.expense.voucher.Create", {
    ...data,
    __yao_created_by: authorized.user_id,
    __yao_updated_by: authorized.user_id,
    __yao_team_id: authorized.team_id || null,
    __yao_tenant_id: authorized.tenant_id || null,
  });
}

function getRecords(ctx: Context) {
  const authorized = ctx.authorized;
  const constraints = authorized?.constraints || {};

  const wheres = [];

  // Team-based access: user's own records OR team records
  if (constraints.team_only && authorized.team_id) {
    wheres.push({
      wheres: [
        { column: "__yao_created_by", value: authorized.user_id },
        {
          column: "__yao_team_id",
          value: authorized.team_id,
          method: "orwhere",
        },
      ],
    });
  }
  // Owner-only access
  else if (constraints.owner_only) {
    wheres.push({ column: "__yao_created_by", value: authorized.user_id });
  }

  return Process("models.agents.expense.voucher.Get", {
    select: ["id", "title", "amount"],
    wheres: wheres,
  });
}

function messaging(ctx: Context) {
  // Send complete message
  ctx.Send({ type: "text", props: { content: "Hello!" } });

  // Send with block grouping
  const block_id = ctx.BlockID();
  ctx.Send("Step 1", block_id);
  ctx.Send("Step 2", block_id);

  // Streaming message
  const msg_id = ctx.SendStream("Processing...");
  ctx.Append(msg_id, " done!");
  ctx.End(msg_id);

  // Replace message content
  const loading_id = ctx.SendStream({
    type: "loading",
    props: { message: "Loading..." },
  });
  ctx.Replace(loading_id, { type: "text", props: { content: "Complete!" } });
  ctx.End(loading_id);
}

function memory(ctx: Context) {
  // User preferences (persistent)
  ctx.memory.user.Set("theme", "dark");
  const theme = ctx.memory.user.Get("theme");

  // Rate limiting with counters
  const count = ctx.memory.user.Incr("api_calls_today");
  if (count > 100) throw new Error("Rate limit exceeded");
  return theme;
}

function trace(ctx: Context) {
  // Create trace node
  const node = ctx.trace.Add({ query: "search term" }, { label: "Search", type: "search", icon: "search" });

  // Add logs
  node.Info("Starting search");
  node.Debug("Query validated");

  // Complete with output
  node.Complete({ results: 10 });

  // Parallel operations
  const nodes = ctx.trace.Parallel([
    { input: { url: "api1" }, option: { label: "API 1" } },
    { input: { url: "api2" }, option: { label: "API 2" } },
  ]);
  return nodes;
}

function mcp(ctx: Context) {
  // List available tools
  const tools = ctx.mcp.ListTools("echo", "");
  console.log(tools.tools);

  // Call a single tool
  const result = ctx.mcp.CallTool("echo", "ping", { count: 3 });
  console.log(result.content);

  // Call multiple tools sequentially
  const results = ctx.mcp.CallTools("echo", [
    { name: "ping", arguments: { count: 1 } },
    { name: "status", arguments: { verbose: true } },
  ]);

  // Call multiple tools in parallel
  const parallelResults = ctx.mcp.CallToolsParallel("echo", [
    { name: "ping", arguments: { count: 1 } },
    { name: "status", arguments: { verbose: false } },
  ]);

  // List resources
  const resources = ctx.mcp.ListResources("echo", "");

  // Read a resource
  const info = ctx.mcp.ReadResource("echo", "echo://info");
  console.log(info.contents);

  // List prompts
  const prompts = ctx.mcp.ListPrompts("echo", "");

  // Get a prompt with arguments
  const prompt = ctx.mcp.GetPrompt("echo", "test_connection", {
    detailed: "true",
  });
  console.log(prompt.messages);
  return [results, parallelResults, resources, prompts];
}

export function searchResults(ctx: Context, payload: NextHookPayload) {
  const { completion, tools } = payload;

  // Search results may be in tool results if search was triggered
  if (tools) {
    const searchResults = tools.filter((t) => t.tool === "search");
    return [completion, searchResults];
  }
}

export function withoutSearch(ctx: Context, messages: Message[]): HookCreateResponse {
  // Disable search for this request
  return {
    messages,
    uses: {
      search: "disabled",
    },
  };
}

/**
 * Create Hook - Preprocess messages and configure the request
 */
export function Create(ctx: Context, messages: Message[]): HookCreateResponse | null {
  const user_query = messages[messages.length - 1]?.content || "";

  // Store data for Next hook
  ctx.memory.context.Set("original_query", user_query);
  ctx.memory.context.Set("request_time", Date.now());

  // Add trace node
  const node = ctx.trace.Add(
    { query: user_query },
    { label: "Create Hook", type: "preprocessing", icon: "play" },
  );

  // Check if search is needed
  if (user_query.includes("search") || user_query.includes("find")) {
    node.Info("Search mode enabled");
    return {
      messages,
      mcp_servers: [{ server_id: "search_engine" }],
      prompt_preset: "search.assistant",
    };
  }

  node.Complete({ mode: "standard" });
  return { messages, temperature: 0.7 };
}

/**
 * Next Hook - Process LLM response
 */
export function Next(ctx: Context, payload: NextHookPayload): NextHookResponse | null {
  const { completion, tools, error } = payload;

  // Retrieve data from Create hook
  const duration = Date.now() - ctx.memory.context.Get("request_time");

  // Handle errors
  if (error) {
    return { data: { status: "error", message: error } };
  }

  // Process tool results
  if (tools && tools.length > 0) {
    const msg_id = ctx.SendStream("## Results\n\n");
    tools.forEach((t, i) => {
      ctx.Append(msg_id, `**${i + 1}. ${t.tool}**: ${JSON.stringify(t.result)}\n`);
    });
    ctx.End(msg_id);

    return { data: { status: "success", duration_ms: duration } };
  }

  // Return null for standard LLM response
  return null;
}

export const all = [getOwnerID, isTeamContext, applyPermissionFilter, createRecord, getRecords, messaging, memory, trace, mcp];
