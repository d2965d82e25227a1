/** A description for every field of a type. A field without one does not compile. */
export type Fields<Type> = { readonly [Name in keyof Type]-?: string };

/** Fields by the name of their type; for the fields of an object inside, `Type.field`. */
export type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>;
