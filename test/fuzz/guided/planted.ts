/** Hand-made bugs: one behind three conditions, each behind the one before, and one that takes ever more work. */

export function readParcel(text: string): string {
  let parcel: unknown;
  try {
    parcel = JSON.parse(text);
  } catch {
    return "no JSON";
  }
  if (typeof parcel !== "object" || parcel === null) return "no parcel";
  const fields = new Map<string, unknown>(Object.entries(parcel));
  if (fields.get("kind") === "fragile") {
    if (Array.isArray(fields.get("stamps"))) {
      if (fields.get("weight") === -1) throw new TypeError("the planted bug");
      return "stamped";
    }
    return "fragile";
  }
  return "plain";
}

/** Looks at each pair of characters: work that grows with the square. */
export function countTwins(text: string): number {
  let twins = 0;
  for (const one of text) {
    for (const other of text) {
      if (one === other) twins += 1;
    }
  }
  return twins;
}
