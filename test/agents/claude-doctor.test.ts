/** `franca doctor` with the real Claude Code. */
import { describeWell } from "../support/doctor.ts";

describeWell("claude");
