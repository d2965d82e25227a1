/** The times of events. */
import * as z from "zod";

/** RFC 3339, in UTC, with milliseconds. */
export const Time = z.iso.datetime({ precision: 3 });
