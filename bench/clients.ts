/** Clients that only check indices: what they do costs little, so that the server is what is measured. */
import { get, type IncomingMessage } from "node:http";

export interface Counting {
  readonly count: () => Count;
  /** Resolves when a frame has said the end, with the time. */
  readonly ended: Promise<number>;
  /** When anything came last. */
  readonly lastAt: () => number;
  readonly close: () => void;
}

export interface Count {
  /** Deltas with an index that was the next one, or a later one. */
  readonly received: number;
  /** Deltas that came after one with a greater index, or twice. */
  readonly disordered: number;
}

export interface CountingOptions {
  readonly url: string;
  /** What stands before every delta's index, and nowhere else. */
  readonly mark: string;
  readonly end: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const NEWLINE = 10;
const ZERO = 48;
/** The digits of an index, and what ends them. */
const LONGEST_INDEX = 8;

/** Resolves when the server has begun to answer, so that nothing is missed. */
export function openCounting({ url, mark, end, headers = {} }: CountingOptions): Promise<Counting> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, headers }, (response) => {
      if (response.statusCode === 200) resolve(count(response, { mark: Buffer.from(mark), end: Buffer.from(end) }));
      else reject(new Error(`${url} answered ${response.statusCode}`));
    });
    request.on("error", reject);
  });
}

function count(response: IncomingMessage, { mark, end }: { mark: Buffer; end: Buffer }): Counting {
  let received = 0;
  let disordered = 0;
  let latest = 0;
  let lastAt = performance.now();
  let rest: Buffer = Buffer.alloc(0);
  let over: (at: number) => void = () => {};
  const ended = new Promise<number>((resolve) => {
    over = resolve;
  });
  const keep = Math.max(mark.length + LONGEST_INDEX, end.length);
  const sign = mark[mark.length - 1] ?? 0;
  response.on("data", (chunk: Buffer) => {
    // A mark that is cut in two by the chunks is found in the joined ends.
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let last = 0;
    lastAt = performance.now();
    // One byte is found several times as fast as a text; the answer as a whole repeats it, and is passed over by line.
    for (let at = bytes.indexOf(sign); at !== -1; at = bytes.indexOf(sign, at + 1)) {
      if (at + 1 + LONGEST_INDEX > bytes.length) break;
      if (!endsWith(bytes, at, mark)) {
        at = bytes.indexOf(NEWLINE, at);
        if (at === -1) break;
        continue;
      }
      last = at + 1;
      const index = indexAt(bytes, last);
      if (index > latest) received += 1;
      else disordered += 1;
      latest = Math.max(latest, index);
    }
    // Nothing is said after the end.
    if (bytes.includes(end, last)) over(performance.now());
    rest = bytes.subarray(Math.max(last, bytes.length - keep + 1));
  });
  response.on("error", () => {});
  return { count: () => ({ received, disordered }), ended, lastAt: () => lastAt, close: () => void response.destroy() };
}

/** Whether the mark ends at this byte. */
function endsWith(bytes: Buffer, at: number, mark: Buffer): boolean {
  const start = at - mark.length + 1;
  for (let index = 0; index < mark.length; index += 1) if (bytes[start + index] !== mark[index]) return false;
  return true;
}

function indexAt(bytes: Buffer, start: number): number {
  let index = 0;
  for (let at = start; (bytes[at] ?? 0) >= ZERO && (bytes[at] ?? 0) < ZERO + 10; at += 1) {
    index = index * 10 + (bytes[at] ?? ZERO) - ZERO;
  }
  return index;
}
