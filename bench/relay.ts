/**
 * The bare relay: what anyone would write in an hour. Lines of an agent's standard output become server-sent events as
 * they are; nothing is stored, converted or bounded, and a client that reconnects has lost what came in between.
 */
import { spawn } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";

export function playRelay(): void {
  const clients = new Set<ServerResponse>();
  const agent = spawn(process.execPath, [process.argv[1] ?? "", "agent"], { stdio: ["pipe", "pipe", "inherit"] });
  let id = 0;
  createInterface({ input: agent.stdout }).on("line", (line) => {
    id += 1;
    const frame = Buffer.from(`id: ${id}\ndata: ${line}\n\n`);
    for (const client of clients) client.write(frame);
  });
  const server = createServer((incoming, outgoing) => {
    if (incoming.method === "POST") {
      id = 0;
      const content = [{ type: "text", text: `flood ${incoming.url?.slice(1)}` }];
      agent.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`);
      outgoing.writeHead(204).end();
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
