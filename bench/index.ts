/** `npm run bench [-- --quick] [flood] [latency] …`: measurements beside a baseline, with what each is to reach. */
import { LANGUAGES, playAgent } from "./agent.ts";
import { playRelay } from "./relay.ts";
import { measureAll } from "./report.ts";
import { playEmpty } from "./start.ts";

const words = process.argv.slice(2);
const language = LANGUAGES.find((name) => name === words[0]);

// This file is also the programs it measures against.
if (words[0] === "relay") playRelay();
else if (language !== undefined) await playAgent(language);
else if (words[0] === "empty") playEmpty();
else await measureAll(words);
