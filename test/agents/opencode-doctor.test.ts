/** `franca doctor` with the real OpenCode. */
import { describeWell } from "../support/doctor.ts";

describeWell("opencode");
