/** Clients that only count: what they do costs little, so that the server is what is measured. */
import { get, type IncomingMessage } from "node:http";

export interface Counting {
  /** Frames of deltas. */
  readonly count: () => number;
  /** Resolves when a frame has said the end, with the time. */
  readonly ended: Promise<number>;
  readonly close: () => void;
}

interface CountingOptions {
  readonly url: string;
  /** What every delta's frame says, and nothing else does. */
  readonly mark: string;
  readonly end: string;
}

/** Resolves when the server has begun to answer, so that nothing is missed. */
export function openCounting({ url, mark, end }: CountingOptions): Promise<Counting> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      if (response.statusCode === 200) resolve(count(response, { mark: Buffer.from(mark), end: Buffer.from(end) }));
      else reject(new Error(`${url} answered ${response.statusCode}`));
    });
    request.on("error", reject);
  });
}

function count(response: IncomingMessage, { mark, end }: { mark: Buffer; end: Buffer }): Counting {
  let frames = 0;
  let rest: Buffer = Buffer.alloc(0);
  let over: (at: number) => void = () => {};
  const ended = new Promise<number>((resolve) => {
    over = resolve;
  });
  response.on("data", (chunk: Buffer) => {
    // A mark that is cut in two by the chunks is found in the joined ends.
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let last = 0;
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, last)) {
      frames += 1;
      last = at + mark.length;
    }
    if (bytes.includes(end)) over(performance.now());
    rest = bytes.subarray(Math.max(last, bytes.length - Math.max(mark.length, end.length) + 1));
  });
  response.on("error", () => {});
  return { count: () => frames, ended, close: () => void response.destroy() };
}
