/**
 * The bare relay, the yardstick of the flood: what one would write in an hour. It does not change with our needs.
 * Reads an agent's standard output in the chunks that Node hands out, splits them at newlines without `readline`, makes
 * each line a server-sent event as it is, and writes the events of one chunk in one piece to every client, who share
 * the bytes. Nothing is parsed, converted, stored or bounded; a client that reconnects has lost what came meanwhile.
 */
import { spawn } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Language } from "./agent.ts";

export function playRelay(language: Language): void {
  const clients = new Set<ServerResponse>();
  const agent = spawn(process.execPath, [process.argv[1] ?? "", language], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let id = 0;
  let rest = "";
  agent.stdout.setEncoding("utf8");
  agent.stdout.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    let text = "";
    for (const line of lines) {
      id += 1;
      text += `id: ${id}\ndata: ${line}\n\n`;
    }
    if (text === "") return;
    const frames = Buffer.from(text);
    for (const client of clients) client.write(frames);
  });
  const server = createServer((incoming, outgoing) => {
    if (incoming.method === "POST") {
      id = 0;
      incoming.pipe(agent.stdin, { end: false });
      incoming.on("end", () => outgoing.writeHead(204).end());
      return;
    }
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.write(": connected\n\n");
    clients.add(outgoing);
    outgoing.on("close", () => clients.delete(outgoing));
  });
  server.listen(0, "127.0.0.1", () => {
    const address: AddressInfo | string | null = server.address();
    if (address !== null && typeof address === "object") console.log(`http://127.0.0.1:${address.port}`);
  });
  process.on("SIGTERM", () => {
    agent.kill();
    process.exit(0);
  });
}
