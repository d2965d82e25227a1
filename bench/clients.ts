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
  response.on("data", (chunk: Buffer) => {
    // A mark that is cut in two by the chunks is found in the joined ends.
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let last = 0;
    lastAt = performance.now();
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, last)) {
      if (at + mark.length + LONGEST_INDEX > bytes.length) break;
      last = at + mark.length;
      const index = indexAt(bytes, last);
      if (index > latest) received += 1;
      else disordered += 1;
      latest = Math.max(latest, index);
    }
    if (bytes.includes(end)) over(performance.now());
    rest = bytes.subarray(Math.max(last, bytes.length - keep + 1));
  });
  response.on("error", () => {});
  return { count: () => ({ received, disordered }), ended, lastAt: () => lastAt, close: () => void response.destroy() };
}

function indexAt(bytes: Buffer, start: number): number {
  let index = 0;
  for (let at = start; (bytes[at] ?? 0) >= ZERO && (bytes[at] ?? 0) < ZERO + 10; at += 1) {
    index = index * 10 + (bytes[at] ?? ZERO) - ZERO;
  }
  return index;
}
