/**
 * How events and native lines lie on disk and in frames. Everything about these bytes is in this folder: a log stores
 * what the writer encoded, and hands out groups. Each log opens a codec of its own, with its buffers and caches.
 */
import type { NativeLine } from "../../../protocol/resources.ts";
import type { Encoded, EntryWriter } from "../contract.ts";
import { openEventEncoder } from "./encode.ts";
import { type Groups, openGroups } from "./group.ts";
import { type LineWriter, newScratch, openLineWriter } from "./line-writer.ts";
import { decodeNative, openNativeEncoder } from "./native.ts";

export interface Codec extends Groups {
  /** One at a time: an entry is finished before another is begun. */
  readonly openWriter: () => EntryWriter;
  readonly decodeNative: (bytes: Uint8Array) => NativeLine[];
}

export function openCodec(): Codec {
  const { begin, ...writer } = entryWriter();
  const openWriter = (): EntryWriter => {
    begin();
    return writer;
  };
  return { ...openGroups(), openWriter, decodeNative };
}

function entryWriter(): EntryWriter & { readonly begin: () => void } {
  const eventLines = openLineWriter(newScratch());
  const encoder = openEventEncoder(eventLines);
  let firstEvent = 0;
  let lastEvent = 0;
  const nativeLines = openLineWriter(newScratch());
  const natives = openNativeEncoder(nativeLines);
  let firstLine = 0;
  let lastLine = 0;
  return {
    begin() {
      eventLines.begin();
      encoder.begin();
      firstEvent = 0;
      nativeLines.begin();
      natives.begin();
      firstLine = 0;
    },
    event(event) {
      if (firstEvent === 0) firstEvent = event.sequence;
      lastEvent = event.sequence;
      encoder.add(event);
    },
    native(line) {
      if (firstLine === 0) firstLine = line.line;
      lastLine = line.line;
      natives.add(line);
    },
    repeat(repeated) {
      if (firstEvent === 0) firstEvent = repeated.sequence;
      lastEvent = repeated.sequence;
      encoder.repeat(repeated);
      if (firstLine === 0) firstLine = repeated.line;
      lastLine = repeated.line;
      natives.repeat(repeated);
    },
    size: () => encoder.wholeBytes() + nativeLines.size(),
    finish() {
      const native = finishLines(nativeLines, { first: firstLine, last: lastLine });
      const events = finishLines(eventLines, { first: firstEvent, last: lastEvent });
      // The last line would keep the chunk of output that it was read with.
      natives.begin();
      if (events === null) return { events, native };
      return { events: { ...events, wholeBytes: encoder.wholeBytes(), wholes: encoder.wholes() }, native };
    },
  };
}

const finishLines = (writer: LineWriter, { first, last }: { first: number; last: number }): Encoded | null =>
  writer.size() === 0 ? null : { first, last, bytes: writer.finish() };
