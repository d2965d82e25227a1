/** An agent that is a few lines of shell, so that hundreds of them can run at once. It echoes what it is told. */
import { defineAdapter } from "../../src/core/adapter.ts";
import { fake } from "./fake-adapter.ts";

const script = `
echo '{"type":"hello","session":"tiny-'$$'"}'
n=0
while read -r line; do
  n=$((n+1))
  text=\${line#*'"text":"'}
  echo '{"type":"text","id":"'$n'","delta":"'"\${text%'"}'}"'"}'
  echo '{"type":"done","id":"'$n'"}'
  echo '{"type":"end","reason":"completed"}'
done`;

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** The fake agent's dialect, spoken by another program. */
export const tiny = defineAdapter<object, ReturnType<typeof fake.open>>({
  agent: "tiny",
  name: "Tiny",
  isNative: isObject,
  recognises: () => false,
  capabilities: fake.capabilities,
  adapter: { start: fake.open, step: (running, input) => running.step(input) },
  launch: () => ({ kind: "process", command: "/bin/sh", args: ["-c", script], lifetime: "session" }),
});
