/** What the client needs of a fetch: the platform's own has it, and so have smaller ones. */

export type Fetch = (url: string, init?: FetchInit) => Promise<FetchAnswer>;

export interface FetchInit {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | null;
  readonly signal?: AbortSignal | null;
}

export interface FetchAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { readonly get: (name: string) => string | null };
  readonly body: ByteStream | null;
  readonly text: () => Promise<string>;
}

export interface ByteStream {
  readonly getReader: () => ByteReader;
}

export interface ByteReader {
  readonly read: () => Promise<{ readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined }>;
  readonly cancel: () => Promise<void>;
}
