/** `franca doctor` with the real Codex. */
import { describeWell } from "../support/doctor.ts";

describeWell("codex");
