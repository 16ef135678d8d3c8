//! The page about events.

use super::{ReferencePage, cell, codes};
use crate::format::FORMATS;
use ambit_runtime::frame::STREAM_EVENTS;
use ambit_runtime::hook::EVENTS;

const ABOUT: &str = "\
There are two kinds: what happens in contexts and turns, which an agent's script hears of and clients may follow, and the events of one
turn's stream.

## What happens

A function of `src/events.ts` that has the name of an event hears of it ([hooks](../hooks.md)):

```ts
export function AfterToolExecution(event) {
  log.Info(\"%s of %s has ended\", event.tool, event.agent_name);
}
```

What is told *before* may be answered with `{veto: \"why\"}`, which stops it, or with an object of the fields that may be changed. What is
told *after* is in the feed too, `GET /v1/events`:

```sh
curl -N 'http://127.0.0.1:8080/v1/events?type=AfterToolExecution,ConversationEnded' -H 'authorization: Bearer KEY'
```

Each has `event_id`, `at` (milliseconds since 1970), `tenant`, `agent_name`, `identity`, `turn_id` and `caller_id`, and besides:

| event | when | told | says | may be changed |
|---|---|---|---|---|
";

const STREAMS: &str = "
## Streams of turns

Which form a stream has is said by `accept` of the request, in its body, its query or `X-Ambit-Accept`; [clients](../clients.md) tells what each
is for. `id` says whether its events have the number of an entry, with which a client goes on by `Last-Event-ID`.

| `accept` | `id` | turns that fail at once |
|---|---|---|
";

const OF_STREAMS: &str = "
## Events of a stream

In the formats that begin with `cui` a line is a message, a change of one, or an event:

```json
{\"type\": \"event\", \"props\": {\"event\": \"step_start\", \"message\": \"Step started\", \"data\": {\"index\": 0}}}
```

Scripts may send events of their own beside these.

| event | when |
|---|---|
";

/// The page.
pub fn page() -> ReferencePage {
    let events = EVENTS.iter().map(|row| {
        let told = match row.feed {
            Some(_) => "after",
            None => "before",
        };
        let (name, about) = (row.name, cell(row.about));
        let (fields, changed) = (codes(row.fields), codes(row.changed));
        format!("| `{name}` | {about} | {told} | {fields} | {changed} |\n")
    });
    let events: String = events.collect();
    let formats = FORMATS.iter().map(|row| {
        let has_ids = if row.has_entry_ids { "yes" } else { "no" };
        let failing = match row.has_status {
            true => "have their status",
            false => "are told of in the stream",
        };
        format!("| `{}` | {has_ids} | {failing} |\n", row.name)
    });
    let formats: String = formats.collect();
    let of_streams = STREAM_EVENTS.iter();
    let of_streams = of_streams.map(|row| format!("| `{}` | {} |\n", row.name, row.about));
    let of_streams: String = of_streams.collect();
    let text = format!("{ABOUT}{events}{STREAMS}{formats}{OF_STREAMS}{of_streams}");
    ReferencePage::new("events", "Events", &text)
}
