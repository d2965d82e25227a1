#!/usr/bin/env node
/** A program like `opencode serve`: it says what reached it, and takes WebSockets. Its password is checked. */
import { createServer } from "node:http";

const port = Number(process.argv[process.argv.indexOf("--port") + 1]);
const login = `Basic ${Buffer.from(`opencode:${process.env.OPENCODE_SERVER_PASSWORD}`).toString("base64")}`;

const server = createServer((request, response) => {
  if (request.headers.authorization !== login) return response.writeHead(401).end();
  if (request.url.startsWith("/global/event")) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const say = (payload, directory) => response.write(`data: ${JSON.stringify({ directory, payload })}\n\n`);
    say({ type: "server.connected", properties: {} }, "global");
    server.on("say", say);
    return undefined;
  }
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => answer(request, response, body));
  return undefined;
});

function answer(request, response, body) {
  const { method, url, headers } = request;
  if (url.startsWith("/pty/pty_die")) process.exit(1);
  const [path] = url.split("?");
  const extra = { "set-cookie": "who=opencode", "x-secret": "1", link: '<a>; rel="next"', "x-next-cursor": "abc" };
  const isTicket = path.endsWith("/connect-token");
  const status = isTicket && headers["x-opencode-ticket"] !== "1" ? 403 : 200;
  response.writeHead(status, { "content-type": "application/json", ...extra });
  if (status === 403) return response.end(JSON.stringify({ _tag: "PtyForbiddenError", message: "no header" }));
  if (isTicket) return response.end(JSON.stringify({ ticket: "a-ticket", expires_in: 60 }));
  if (path === "/config" || path === "/mcp") {
    const headers = { Authorization: "Bearer hunter2" };
    const lab = { apiKey: "sk-hunter2", url: "https://me:hunter2@example.org/x" };
    return response.end(JSON.stringify({ provider: { lab: { options: lab } }, mcp: { one: { headers } } }));
  }
  if (path === "/pty/shells") {
    const directory = new URL(url, "http://localhost").searchParams.get("directory");
    server.emit("say", { type: "pty.created", properties: { info: { id: "pty_1" } } }, directory);
    server.emit("say", { type: "session.idle", properties: { sessionID: "ses_foreign" } }, directory);
    server.emit("say", { type: "vcs.branch.updated", properties: {} }, "/somewhere/else");
    server.emit("say", { type: "lsp.updated", properties: {} }, directory);
  }
  return response.end(JSON.stringify({ method, url, headers, body }));
}

server.on("upgrade", (request, socket) => {
  const { headers, url } = request;
  if (headers.authorization !== login) return socket.destroy();
  socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  socket.write(`${JSON.stringify({ url, headers })}\n`);
  socket.on("data", (chunk) => socket.write(chunk));
  return undefined;
});

server.listen(port, "127.0.0.1", () => console.log(`opencode server listening on http://127.0.0.1:${port}`));
