/** The event log on Postgres: what every log promises. */
import { describeLog } from "../support/log-contract.ts";
import { openLog } from "../support/postgres.ts";
import { describeProjections } from "../support/projection-contract.ts";

describeLog("postgres", openLog);
describeProjections("postgres: what projections store", openLog);
