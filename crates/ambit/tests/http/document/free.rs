//! Parts of answers that have no form.

/// What is any JSON in answers, and why.
pub const FREE: &[(&str, &str)] = &[
    ("AgentSetting.value", "each setting has values of its own"),
    ("AgentTool.parameters.*", "JSON Schema says what it is"),
    ("Assistant.*", "the app's maker chooses what a client shows"),
    (
        "AssistantInfo.placeholder",
        "the app's maker chooses what a client shows",
    ),
    ("ChatInfo.metadata.*", "clients keep what they like"),
    ("ChatMessageView.metadata", "scripts keep what they like"),
    (
        "ChatMessageView.props.*",
        "scripts send messages of types of their own",
    ),
    (
        "AgUiEventActivitySnapshot.content.*",
        "scripts send messages of types of their own",
    ),
    ("AgUiEventRunFinished.result", "a hook chooses it"),
    (
        "AgUiEventStateSnapshot.snapshot",
        "scripts and clients share what they like",
    ),
    (
        "AgUiEventCustom.value",
        "scripts ask for actions of their own",
    ),
    (
        "AnthropicBlockToolUse.input.*",
        "each tool has arguments of its own",
    ),
    ("Collection.metadata.*", "clients keep what they like"),
    (
        "ContentView.content",
        "it is a message or a tool, as the model's provider got it",
    ),
    ("ContextItem.item", "an app's own storage chooses its items"),
    ("DataConstraints.extra.*", "apps have columns of their own"),
    ("DataPage.*", "an app's models choose their columns"),
    ("Document.metadata.*", "clients keep what they like"),
    (
        "DocumentChunk.metadata.*",
        "documents and clients say what they like",
    ),
    (
        "DocumentChunk.score_dimensions.*",
        "clients score by their own names",
    ),
    (
        "FeedbackContext.context",
        "clients say of chunks what they like",
    ),
    ("HookTrial.result", "a hook chooses it"),
    (
        "HookTrialMessage.props.*",
        "scripts send messages of types of their own",
    ),
    (
        "KnowledgeItem.metadata.*",
        "documents and clients say what they like",
    ),
    (
        "MemoryMatch.value",
        "scripts and clients keep what they like",
    ),
    (
        "ConversationObject.metadata.*",
        "clients keep what they like",
    ),
    ("CuiAnswer.next", "a hook chooses it"),
    (
        "ErrorDetails.details",
        "each error has details of its own, and scripts throw theirs",
    ),
    ("Frame.metadata.*", "scripts keep what they like"),
    (
        "Frame.props.*",
        "scripts send messages of types of their own",
    ),
    ("FeedEvent.*", "each type of event says what it has"),
    (
        "MemoryValue.value",
        "scripts and clients keep what they like",
    ),
    (
        "LayeredValue.over.*",
        "each provider has options of its own",
    ),
    ("LayeredValue.value", "each provider has options of its own"),
    (
        "ModelFacts.options.*",
        "each provider has options of its own",
    ),
    ("NodeView.input", "scripts trace what they like"),
    ("NodeView.metadata.*", "scripts trace what they like"),
    ("NodeView.output", "scripts trace what they like"),
    ("OutputText.annotations[].*", "there are none"),
    ("OutputText.logprobs[].*", "there are none"),
    (
        "PatchOperationAdd.value",
        "scripts and clients share what they like",
    ),
    (
        "PatchOperationReplace.value",
        "scripts and clients share what they like",
    ),
    (
        "PublicError.details",
        "each error has details of its own, and scripts throw theirs",
    ),
    ("ResponseEvent4.logprobs[].*", "there are none"),
    ("ResponseEvent5.logprobs[].*", "there are none"),
    (
        "RenderedRequest.body",
        "each provider's protocol has bodies of its own",
    ),
    (
        "ResponseSettings.*",
        "fields that change nothing are said again",
    ),
    ("ResponseSettings.metadata.*", "clients keep what they like"),
    (
        "ResponseSettings.reasoning.*",
        "a Response says again what its client has said",
    ),
    (
        "ResponseSettings.text.*",
        "a Response says again what its client has said",
    ),
    (
        "ResponseSettings.tool_choice",
        "a Response says again what its client has said",
    ),
    (
        "ResponseSettings.tools[].*",
        "a Response says again what its client has said",
    ),
    ("SentItem.*", "clients send items of kinds of their own"),
    ("SentPart.*", "clients send parts of kinds of their own"),
    ("SpaceValue.value", "scripts trace what they like"),
    ("StoreItem.value", "frameworks keep what they like"),
    (
        "ToolTrial.content[].*",
        "the Model Context Protocol says what it is",
    ),
    ("ToolTrial.data", "each tool has results of its own"),
    (
        "ToolTrial.structuredContent",
        "each tool has results of its own",
    ),
    (
        "TraceOrigin.context.*",
        "W3C Trace Context says what it has",
    ),
    (
        "TypedChunkToolInputAvailable.input",
        "each tool has arguments of its own",
    ),
    (
        "TypedChunkToolInputError.input",
        "each tool has arguments of its own",
    ),
    (
        "TypedChunkStart.messageMetadata.*",
        "formats say what they know",
    ),
    (
        "TypedChunkFinish.messageMetadata.*",
        "formats say what they know",
    ),
    (
        "TypedChunkToolOutputAvailable.output",
        "each tool has results of its own",
    ),
    (
        "TypedChunkSteeringMessage.parts[]",
        "a person's parts are as clients send them",
    ),
    (
        "TypedPartSteeringMessage.parts[]",
        "a person's parts are as clients send them",
    ),
    ("UiData.data", "scripts send messages of types of their own"),
    ("UiMessage.metadata", "clients keep what they like"),
    ("UiToolCall.input", "each tool has arguments of its own"),
    ("UiToolCall.output", "each tool has results of its own"),
    ("SpaceView.metadata.*", "scripts trace what they like"),
    ("SpaceView.values.*", "scripts trace what they like"),
    (
        "TokenUsage.completion_tokens_details.*",
        "each provider counts by its own names",
    ),
    ("ReferenceView.*", "each type of reference has its own"),
    (
        "ReferenceView.metadata.*",
        "who searches says what it likes",
    ),
    (
        "TokenUsage.prompt_tokens_details.*",
        "each provider counts by its own names",
    ),
    (
        "ShownTraceEventNodeUpdated.metadata.*",
        "scripts trace what they like",
    ),
    (
        "ShownTraceEventNodeComplete.output",
        "scripts trace what they like",
    ),
    (
        "ShownTraceEventNodeUpdated.output",
        "scripts trace what they like",
    ),
    ("TraceLogEntry.data", "scripts trace what they like"),
    ("TurnInfo.response", "a hook chooses it"),
    ("TurnNames.next", "a hook chooses it"),
    ("get /openapi.json", "the OpenAPI standard says what it is"),
    ("post /v1/mcp", "the Model Context Protocol says what it is"),
];
