/** The address rule: what a configured URL may make Franca connect to, attacked by names, spellings and redirects. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { addressKind, readAllowEntry, refusal } from "../../src/runtime/outbound/address.ts";
import { outboundFetch, type Resolve } from "../../src/runtime/outbound/fetch.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listen(answer: RequestListener, { host = "127.0.0.1", port = 0 } = {}): Promise<number> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen({ host, port }, resolve));
  closing.push(() => new Promise((resolve) => server.close(() => resolve())));
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** Answers each call with the next list; the last one from then on. */
function answering(...answers: readonly string[][]): { readonly resolve: Resolve; readonly asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = async (host) => {
    const list = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(host);
    return list.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  };
  return { resolve, asked };
}

const addressesOf = (url: URL): string[] => [url.hostname];
const judged = (text: string, allow: readonly string[] = []): string | null => {
  const url = new URL(text);
  return refusal({ url, addresses: addressesOf(url), allow });
};

describe("spellings of closed addresses", () => {
  test.each([
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://0/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:7f00:0001]/",
    "http://[::127.0.0.1]/",
    "http://10.1.2.3/",
    "http://172.31.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://[fd12:3456::1]/",
  ])("%s is private", (text) => {
    expect(judged(text)).toContain("is a private address");
  });

  test.each([
    "http://169.254.169.254/latest/meta-data",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[::ffff:0:169.254.169.254]/",
  ])("%s is link-local, metadata, or wraps one", (text) => {
    expect(judged(text)).toContain("is a link-local or metadata address");
    // Neither a name nor the private networks open it.
    expect(judged(text, ["localhost", "10.0.0.0/8", "127.0.0.1"])).not.toBeNull();
  });

  test("public addresses are open, other schemes and credentials are not", () => {
    expect(judged("https://93.184.216.34/")).toBeNull();
    expect(judged("https://[2606:2800:220:1:248:1893:25c8:1946]/")).toBeNull();
    expect(judged("ftp://93.184.216.34/")).toContain("neither http nor https");
    expect(judged("https://user:secret@93.184.216.34/")).toContain("user name");
    expect(addressKind("no address")).toBe("metadata");
  });
});

describe("the allow list", () => {
  test("an entry opens its host, port, address or network, and nothing else", () => {
    expect(judged("http://127.0.0.1:8080/", ["127.0.0.1"])).toBeNull();
    expect(judged("http://127.0.0.1:8080/", ["127.0.0.1:8080"])).toBeNull();
    expect(judged("http://127.0.0.1:8081/", ["127.0.0.1:8080"])).not.toBeNull();
    expect(judged("http://[::1]:8080/", ["[::1]:8080"])).toBeNull();
    expect(judged("http://[::1]/", ["::1"])).toBeNull();
    expect(judged("http://[::ffff:10.0.0.7]/", ["10.0.0.0/8"])).toBeNull();
    expect(judged("http://11.0.0.7.nip/", ["10.0.0.0/8"])).not.toBeNull();
    expect(judged("http://169.254.169.254/", ["169.254.169.254"])).toBeNull();
  });

  test("a name opens private addresses, but never metadata: who answers for the name chooses the address", () => {
    const url = new URL("http://hooks.internal/");
    const allow = ["hooks.internal"];
    expect(refusal({ url, addresses: ["10.0.0.5"], allow })).toBeNull();
    expect(refusal({ url, addresses: ["169.254.169.254"], allow })).toContain("metadata");
    expect(refusal({ url, addresses: ["10.0.0.5", "fe80::1"], allow })).toContain("metadata");
    expect(refusal({ url, addresses: ["10.0.0.5"], allow: ["internal", "s.internal"] })).not.toBeNull();
  });

  test("one closed address among public ones refuses the name", () => {
    const url = new URL("https://hooks.example/");
    expect(refusal({ url, addresses: ["93.184.216.34", "127.0.0.1"], allow: [] })).toContain("127.0.0.1");
    expect(refusal({ url, addresses: [], allow: [] })).toContain("no address");
  });

  test.each(["", "http://x/", "a b", "10.0.0.0/33", "host/24", "user@host", "::1/129", "*:80:90", "x:port"])(
    "%j is no entry",
    (text) => expect(readAllowEntry(text)).toBeNull(),
  );
});

describe("connections", () => {
  test("DNS rebinding: a name is resolved once, and what was checked is connected to", async () => {
    const good = await listen((_, response) => response.end("good"));
    await listen((_, response) => response.end("secret"), { host: "127.0.0.2", port: good });
    const { resolve, asked } = answering(["127.0.0.1"], ["127.0.0.2"]);
    const fetch = outboundFetch({ allow: ["127.0.0.1"], resolve });
    const answer = await fetch(`http://rebind.example:${good}/`);
    expect(await answer.text()).toBe("good");
    expect(asked).toEqual(["rebind.example"]);
    // The second look-up finds the closed address, and nothing is connected to.
    await expect(fetch(`http://rebind.example:${good}/`)).rejects.toThrow("private address");
  });

  test("a name for a closed address is refused before anything is connected to", async () => {
    let reached = 0;
    const port = await listen((_, response) => {
      reached += 1;
      response.end();
    });
    for (const address of ["127.0.0.1", "::ffff:127.0.0.1"]) {
      const { resolve } = answering([address]);
      await expect(outboundFetch({ allow: [], resolve })(`http://public.example:${port}/`)).rejects.toThrow("private");
    }
    expect(reached).toBe(0);
  });

  test("a redirect is an answer and not followed, where the platform's fetch follows it", async () => {
    let reached = 0;
    const metadata = await listen((_, response) => {
      reached += 1;
      response.end("credentials");
    });
    const port = await listen((_, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${metadata}/latest/meta-data` }).end("moved");
    });
    expect(await (await globalThis.fetch(`http://127.0.0.1:${port}/`)).text()).toBe("credentials");
    const answer = await outboundFetch({ allow: [`127.0.0.1:${port}`] })(`http://127.0.0.1:${port}/`, {
      method: "POST",
      body: "x",
      redirect: "follow",
    });
    expect([answer.status, await answer.text(), reached]).toEqual([307, "moved", 1]);
  });

  test("method, headers and body arrive; an answer without a body is read; an abort ends it", async () => {
    const seen: unknown[] = [];
    const port = await listen((request, response) => {
      if (request.url === "/never") return;
      request.setEncoding("utf8");
      let body = "";
      request.on("data", (chunk: string) => {
        body += chunk;
      });
      request.on("end", () => {
        seen.push([request.method, request.headers["x-one"], request.headers.host, body]);
        response.writeHead(204).end();
      });
    });
    const { resolve } = answering(["127.0.0.1"]);
    const fetch = outboundFetch({ allow: ["hooks.local"], resolve });
    const url = `http://hooks.local:${port}`;
    const answer = await fetch(`${url}/a`, { method: "PUT", headers: { "X-One": "1" }, body: "grüße" });
    expect([answer.status, answer.body]).toEqual([204, null]);
    expect(seen).toEqual([["PUT", "1", `hooks.local:${port}`, "grüße"]]);
    const stop = new AbortController();
    const waiting = fetch(`${url}/never`, { signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow();
    const stuck = outboundFetch({ allow: [], resolve: () => new Promise(() => {}) });
    await expect(stuck("http://slow.example/", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow();
  });
});
