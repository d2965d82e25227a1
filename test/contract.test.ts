/** What every adapter keeps, whatever its agent does. */
import { describe } from "vitest";
import { quickAdapters, testContract } from "./support/contract.ts";

describe.each(quickAdapters)("$agent", testContract);
