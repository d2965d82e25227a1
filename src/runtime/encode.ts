/** Events as JSON. Deltas are nearly all there is, and all but three of their fields repeat: those are quoted once. */
import type { EventOf, UniversalEvent } from "../protocol/events.ts";

export type EncodeEvent = (event: UniversalEvent) => string;

/** Gives exactly what `JSON.stringify` gives, at a fraction of its cost where it matters. One a session. */
export function openEncoder(): EncodeEvent {
  const session = quoted();
  const native = quoted();
  const turn = quoted();
  const item = quoted();
  const nativeItem = quoted();
  const encodeDelta = (event: EventOf<"item.delta">): string => {
    const { data, cause } = event;
    const id = session(event.session_id);
    return (
      `{"event_id":${id.slice(0, -1)}:${event.sequence}","sequence":${event.sequence},"time":"${event.time}",` +
      `"session_id":${id},"native_session_id":${native(event.native_session_id)},"turn_id":${turn(event.turn_id)},` +
      `"source":"${event.source}","synthetic":${event.synthetic},"type":"item.delta",` +
      `"data":{"item_id":${item(data.item_id)},"native_item_id":${nativeItem(data.native_item_id)},` +
      `"delta":${JSON.stringify(data.delta)},"part":"${data.part}"},` +
      `"raw":null,"cause":{"line":${cause.line}},"v":1}`
    );
  };
  return (event) =>
    event.type === "item.delta" && event.cause.rule === undefined ? encodeDelta(event) : JSON.stringify(event);
}

/** Remembers the last value: it is the same one for a long time. */
function quoted(): (value: string | null) => string {
  let last: string | null = null;
  let text = "null";
  return (value) => {
    if (value !== last) {
      last = value;
      text = JSON.stringify(value);
    }
    return text;
  };
}
