/** `npm run bench [-- --quick] [flood] [latency] …`: measurements beside a baseline, with what each is to reach. */
import { LANGUAGES, playAgent } from "./agent.ts";
import { playRelay } from "./relay.ts";
import { measureAll } from "./report.ts";
import { playEmpty } from "./start.ts";

const words = process.argv.slice(2);
const named = (word: string | undefined) => LANGUAGES.find((name) => name === word);
const language = named(words[0]);
const relayed = words[0] === "relay" ? named(words[1]) : undefined;

// This file is also the programs it measures against.
if (relayed !== undefined) playRelay(relayed);
else if (language !== undefined) await playAgent(language);
else if (words[0] === "empty") playEmpty();
else await measureAll(words);
