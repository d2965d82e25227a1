/** What every adapter keeps in a live session. */
import { describe } from "vitest";
import { quickAdapters } from "../support/contract.ts";
import { testLiveContract } from "../support/live-contract.ts";

describe.each(quickAdapters.filter(({ offline }) => !offline))("$agent", testLiveContract);
