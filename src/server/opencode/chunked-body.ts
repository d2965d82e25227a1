/** A body that comes in pieces: whole where it is small, and as it is read where it is not. */

/** Pieces are gathered up to this length. */
const CHUNK = 256 * 1024;

/** What fails before the first chunk is full can still be answered with an error. */
export async function bodyOf(pieces: AsyncIterable<string>): Promise<string | AsyncIterable<string>> {
  const chunks = gathered(pieces);
  const first = await chunks.next();
  if (first.done === true) return "";
  const second = await chunks.next();
  if (second.done === true) return first.value;
  return joined([first.value, second.value], chunks);
}

async function* gathered(pieces: AsyncIterable<string>): AsyncGenerator<string, undefined> {
  let chunk = "";
  for await (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}

async function* joined(begun: readonly string[], chunks: AsyncIterable<string>): AsyncGenerator<string> {
  yield* begun;
  yield* chunks;
}
