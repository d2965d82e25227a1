/** What every adapter keeps, for those ACP agents that the quick tests leave out. */
import { describe } from "vitest";
import { slowAdapters, testContract } from "../support/contract.ts";
import { testLiveContract } from "../support/live-contract.ts";

describe.each(slowAdapters)("$agent", (adapter) => {
  testContract(adapter);
  testLiveContract(adapter);
});
