/** Files that go along with a prompt: read in the page, sent as base64 inside the request. */
export interface Attached {
  readonly key: string;
  readonly data: string;
  readonly mime: string;
  readonly filename: string;
  readonly size: number;
}

let counter = 0;

export async function readFiles(files: readonly File[]): Promise<readonly Attached[]> {
  return Promise.all(
    files.map(async (file) => {
      counter += 1;
      const data = base64(new Uint8Array(await file.arrayBuffer()));
      const mime = file.type === "" ? "application/octet-stream" : file.type;
      return { key: `${counter}`, data, mime, filename: file.name, size: file.size };
    }),
  );
}

const CHUNK = 0x8000;

/** In parts: a function takes only so many arguments. */
function base64(data: Uint8Array): string {
  let text = "";
  for (let from = 0; from < data.length; from += CHUNK)
    text += String.fromCharCode(...data.subarray(from, from + CHUNK));
  return btoa(text);
}
