/** `npm run bench [-- --quick] [flood] [latency] …`: measurements beside a baseline, told with what to reach. */
import { playAgent } from "./agent.ts";
import { playRelay } from "./relay.ts";
import { measureAll } from "./report.ts";
import { playEmpty } from "./start.ts";

const words = process.argv.slice(2);

// This file is also the programs it measures against.
if (words[0] === "relay") playRelay();
else if (words[0] === "agent") await playAgent();
else if (words[0] === "empty") playEmpty();
else await measureAll(words);
