/** `npm run bench [-- --quick] [flood] [convert]`: measurements side by side with a baseline, told as ratios. */
import { playAgent } from "./agent.ts";
import { playRelay } from "./relay.ts";
import { measureAll } from "./report.ts";

const words = process.argv.slice(2);

// This file is also the programs it measures against.
if (words[0] === "relay") playRelay();
else if (words[0] === "agent") await playAgent();
else await measureAll(words);
