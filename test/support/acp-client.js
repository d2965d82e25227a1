/**
 * The official ACP client against an agent's command. Arguments: the SDK's package.json, a JSON object
 * `{cwd, load?, fork?, prompts, command, kill?}`; prints what the client received as one JSON object. `kill`: the
 * process that is killed when the first words arrive.
 */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdkFile, given] = process.argv.slice(2);
const { cwd, load, fork, prompts, command, kill } = JSON.parse(given);
const { client, methods, ndJsonStream } = await import(pathToFileURL(join(dirname(sdkFile), "dist/v1/stable/acp.js")));
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const seen = { updates: [], permissions: 0, ends: [], session: null, can: {} };
let victim = kill ?? null;
const app = client({ name: "test" })
  .onNotification(methods.client.session.update, ({ params }) => {
    seen.updates.push(params.update);
    if (victim === null || params.update.sessionUpdate !== "agent_message_chunk") return;
    process.kill(victim, "SIGKILL");
    victim = null;
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    seen.permissions += 1;
    const { optionId } = params.options.find(({ kind }) => kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await app.connectWith(stream, async (context) => {
  const hello = await context.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  seen.can = hello.agentCapabilities;
  const opening = { cwd, mcpServers: [] };
  if (load === undefined) seen.session = (await context.request(methods.agent.session.new, opening)).sessionId;
  else {
    await context.request(methods.agent.session.load, { ...opening, sessionId: load });
    seen.session = load;
  }
  if (fork === true) {
    const forked = await context.request("session/fork", { ...opening, sessionId: seen.session });
    seen.session = forked.sessionId;
  }
  for (const text of prompts) {
    const prompt = [{ type: "text", text }];
    const end = context.request(methods.agent.session.prompt, { sessionId: seen.session, prompt });
    seen.ends.push(
      await end.then(
        ({ stopReason }) => stopReason,
        (error) => `error: ${error.message}`,
      ),
    );
  }
});
console.log(JSON.stringify(seen));
agent.stdin.end();
