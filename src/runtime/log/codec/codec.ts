/**
 * How events and native lines lie on disk and in frames. Everything about these bytes is in this folder: a log stores
 * what the writer encoded, and hands out groups. Each log opens a codec of its own, with its buffers and caches.
 */
import type { UniversalEvent } from "../../../protocol/events.ts";
import type { NativeLine } from "../../../protocol/resources.ts";
import type { Encoded, EntryWriter } from "../contract.ts";
import { openEventEncoder } from "./encode.ts";
import { type Groups, openGroups } from "./group.ts";
import { type LineWriter, newScratch, openLineWriter, type Scratch } from "./line-writer.ts";
import { decodeNative, openNativeEncoder } from "./native.ts";

export interface Codec extends Groups {
  /** One at a time: an entry is finished before another is begun. */
  readonly openWriter: () => EntryWriter;
  readonly decodeNative: (bytes: Uint8Array) => NativeLine[];
}

export function openCodec(): Codec {
  const scratch = { events: newScratch(), native: newScratch() };
  return { ...openGroups(), openWriter: () => openWriter(scratch), decodeNative };
}

function openWriter(scratch: { readonly events: Scratch; readonly native: Scratch }): EntryWriter {
  const eventLines = openLineWriter(scratch.events);
  const encoder = openEventEncoder(eventLines);
  const events: UniversalEvent[] = [];
  const notable: UniversalEvent[] = [];
  const nativeLines = openLineWriter(scratch.native);
  const encodeNative = openNativeEncoder(nativeLines);
  let firstLine = 0;
  let lastLine = 0;
  return {
    event(event) {
      events.push(event);
      if (event.type !== "item.delta") notable.push(event);
      encoder.add(event);
    },
    native(line) {
      if (firstLine === 0) firstLine = line.line;
      lastLine = line.line;
      encodeNative(line);
    },
    size: () => encoder.wholeBytes() + nativeLines.size(),
    finish() {
      const first = events[0];
      const last = events.at(-1);
      const native = finishLines(nativeLines, { first: firstLine, last: lastLine });
      if (first === undefined || last === undefined) return { events: null, native };
      const span = { first: first.sequence, last: last.sequence };
      const encoded = { ...span, bytes: eventLines.finish(), wholeBytes: encoder.wholeBytes(), events, notable };
      return { events: encoded, native };
    },
  };
}

const finishLines = (writer: LineWriter, { first, last }: { first: number; last: number }): Encoded | null =>
  writer.size() === 0 ? null : { first, last, bytes: writer.finish() };
