/** An agent that serves HTTP: sessions by request, everything it says on one stream. For shared connections. */
import { createServer } from "node:http";

const streams = new Set();
let sessions = 0;
const say = (line) => {
  for (const stream of streams) stream.write(`data: ${JSON.stringify(line)}\n\n`);
};

function speak(session, text) {
  const id = `${session}/${Math.random()}`;
  say({ type: "text", session, id, delta: text });
  say({ type: "done", session, id });
  say({ type: "end", session, reason: "completed" });
}

const routes = {
  "POST /session": (body, response) => {
    if (body.refuse) return response.writeHead(503).end('{"why":"no room"}');
    sessions += 1;
    const id = body.resume ?? `native-${sessions}`;
    // Said before the answer that names the session: lines of a thread nobody knows yet must wait.
    say({ type: "text", session: id, id: `${id}/greeting`, delta: "" });
    response.end(JSON.stringify({ id }));
  },
  "POST /prompt": (body, response) => {
    response.end("{}");
    const { session, text } = body;
    if (text === "drop") for (const stream of streams) stream.destroy();
    if (text === "exit") process.exit(4);
    if (text === "hang") return;
    const answer = () => speak(session, text);
    if (streams.size === 0 || text === "drop") waiting.push(answer);
    else answer();
  },
  "POST /abort": (body, response) => {
    response.end("{}");
    say({ type: "end", session: body.session, reason: "aborted" });
  },
};
const waiting = [];

const { FAKE_PASSWORD: password } = process.env;
const authorization = password && `Basic ${Buffer.from(`me:${password}`).toString("base64")}`;

const server = createServer((request, response) => {
  if (authorization && request.headers.authorization !== authorization) {
    response.writeHead(401).end();
    return;
  }
  if (request.url === "/events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": welcome\n\n");
    streams.add(response);
    response.on("close", () => streams.delete(response));
    for (const answer of waiting.splice(0)) answer();
    return;
  }
  let text = "";
  request.on("data", (chunk) => {
    text += chunk;
  });
  request.on("end", () => routes[`${request.method} ${request.url}`](JSON.parse(text), response));
});
server.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
