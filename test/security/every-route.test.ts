/**
 * No effect without authority: every route of every surface, from the route tables themselves, with each kind of
 * request that must not get in. What is not refused by the door would have reached a handler.
 */
import { type ClientRequest, request } from "node:http";
import { expect, test } from "vitest";
import { routes } from "../../src/server/api/index.ts";
import { operations } from "../../src/server/opencode/operations.ts";
import { startDaemon } from "../support/daemon.ts";

const TOKEN = "correct-horse-battery-staple";
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const right = bearer(TOKEN);

interface Attack {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly refusal: string;
  /** Routes that need no token are let through by these. */
  readonly aboutTokens?: boolean;
}

const attacks: readonly Attack[] = [
  { name: "foreign Origin", headers: { ...right, origin: "https://evil.example" }, refusal: "403 origin_not_allowed" },
  { name: "null Origin", headers: { ...right, origin: "null" }, refusal: "403 origin_not_allowed" },
  {
    name: "another port of this machine",
    headers: { ...right, origin: "http://127.0.0.1:1" },
    refusal: "403 origin_not_allowed",
  },
  {
    name: "cross-site fetch",
    headers: { ...right, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
    refusal: "403 origin_not_allowed",
  },
  {
    name: "same-site fetch",
    headers: { ...right, "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script" },
    refusal: "403 origin_not_allowed",
  },
  {
    name: "cross-site frame",
    headers: { ...right, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
    refusal: "403 origin_not_allowed",
  },
  {
    name: "cross-site navigation",
    headers: { ...right, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
    refusal: "403 origin_not_allowed",
  },
  { name: "rebound Host", headers: { ...right, host: "evil.example" }, refusal: "403 host_not_allowed" },
  { name: "no token", headers: {}, refusal: "401 token_invalid", aboutTokens: true },
  { name: "wrong token", headers: bearer(`${TOKEN}x`), refusal: "401 token_invalid", aboutTokens: true },
  { name: "empty token", headers: { authorization: "Bearer " }, refusal: "401 token_invalid", aboutTokens: true },
];

const ours = routes.map(({ method, path, doc }) => ({
  operation: `${method.toUpperCase()} ${path}`,
  open: doc.open === true,
}));
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const everyMethod = [...new Set(routes.map(({ path }) => path))].flatMap((path) =>
  methods.map((method) => ({
    operation: `${method} ${path}`,
    open: routes.some(
      (route) =>
        route.doc.open === true &&
        route.path === path &&
        route.method === (method === "HEAD" ? "get" : method.toLowerCase()),
    ),
  })),
);
const openCode = operations.flatMap((operation) => {
  const [method = "", path = ""] = operation.split(" ");
  return ["/opencode", "/opencode/@mock", ""].map((mount) => ({ operation: `${method} ${mount}${path}`, open: false }));
});
const doors = [...ours, ...everyMethod, ...openCode, { operation: "GET /no-such-route", open: false }];

test.each(attacks)("$name", async ({ headers, refusal, aboutTokens = false }) => {
  const { port } = await startDaemon({ token: TOKEN, opencodeRoot: true });
  const entered: string[] = [];
  for (const { operation, open } of doors) {
    if (aboutTokens && open) continue;
    const answer = await send({ port, operation, headers });
    // An answer to HEAD has no body that would name the code.
    if (answer !== (operation.startsWith("HEAD") ? refusal.slice(0, 4) : refusal))
      entered.push(`${operation}: ${answer}`);
  }
  expect(entered).toEqual([]);
});

test("the token opens what these attacks could not: the list above tests the door, not missing routes", async () => {
  const { port } = await startDaemon({ token: TOKEN });
  expect(await send({ port, operation: "GET /v1/sessions", headers: right })).toBe("200 ");
  expect(doors.length).toBeGreaterThan(500);
});

test("a link on another site may lead to the page, which does nothing by itself, and to nothing else", async () => {
  const { port } = await startDaemon({ token: TOKEN });
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  expect(await send({ port, operation: "GET /", headers: link })).toBe("200 ");
  expect(await send({ port, operation: "GET /v1/health", headers: link })).toBe("403 origin_not_allowed");
  expect(await send({ port, operation: "POST /", headers: link })).toBe("403 origin_not_allowed");
});

interface Sending {
  readonly port: number;
  readonly operation: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The status, and the problem's code where there is one. `fetch` does not let one choose Host and Origin. */
function send({ port, operation, headers }: Sending): Promise<string> {
  const [method = "GET", template = "/"] = operation.split(" ");
  const path = template.replaceAll(/\{\w+\}/g, "x");
  return new Promise((resolve, reject) => {
    const sending: ClientRequest = request({ host: "127.0.0.1", port, method, path, headers: { ...headers } });
    sending.on("error", reject);
    sending.on("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      // A stream would never end: its status is enough.
      if (/event-stream/.test(response.headers["content-type"] ?? "")) {
        sending.destroy();
        resolve(`${response.statusCode} stream`);
      }
      response.on("end", () => resolve(`${response.statusCode} ${code(body)}`));
    });
    sending.end();
  });
}

const code = (body: string): string => /"code":"(\w+)"/.exec(body)?.[1] ?? "";
