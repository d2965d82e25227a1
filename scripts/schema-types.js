/** Writes the TypeScript type of a zod schema: nested schemas that have a name of their own are named, not repeated. */

/** Writes the declaration of each schema among the exports of a module, with the descriptions of its fields. */
export function schemaPrinter(exports, descriptions) {
  const names = new Map();
  for (const [name, value] of Object.entries(exports)) if (isSchema(value)) names.set(value, name);
  const print = (name) => {
    const schema = exports[name];
    if (!isSchema(schema)) throw new Error(`${name} is no schema that the protocol exports.`);
    const write = (inner, depth, texts = {}) => {
      const known = names.get(inner);
      return known === undefined || inner === schema ? typeOf(inner, { write, depth, texts }) : known;
    };
    const body = write(schema, 0, descriptions[name]);
    return body.startsWith("{") ? `interface ${name} ${body}` : `type ${name} = ${body};`;
  };
  return { names: [...names.values()], print };
}

const isSchema = (value) => typeof value === "object" && value !== null && "def" in value && "safeParse" in value;

function typeOf(schema, { write, depth, texts }) {
  const { def } = schema;
  const of = (inner) => write(inner, depth);
  switch (def.type) {
    case "string":
    case "number":
    case "boolean":
    case "unknown":
      return def.type;
    case "literal":
      return def.values.map((value) => JSON.stringify(value)).join(" | ");
    case "enum":
      return Object.values(def.entries)
        .map((value) => JSON.stringify(value))
        .join(" | ");
    case "optional":
    case "readonly":
      return of(def.innerType);
    case "nullable":
      return `${of(def.innerType)} | null`;
    case "array":
      return `readonly ${grouped(of(def.element))}[]`;
    case "record":
      return `Readonly<Record<${of(def.keyType)}, ${of(def.valueType)}>>`;
    case "union":
      return def.options.map((option) => `\n${indent(depth + 1)}| ${write(option, depth + 1)}`).join("");
    case "intersection":
      return `${grouped(of(def.left))} & ${grouped(of(def.right))}`;
    case "object":
      return objectType(def, { write, depth, texts });
    default:
      throw new Error(`There is no TypeScript type for a zod schema of type ${def.type} here: add it.`);
  }
}

function objectType({ shape, catchall }, { write, depth, texts }) {
  const lines = Object.entries(shape).flatMap(([name, field]) => {
    const optional = field.def.type === "optional";
    const line = `readonly ${name}${optional ? "?" : ""}: ${write(field, depth + 1)}${optional ? " | undefined" : ""};`;
    return texts[name] === undefined ? [line] : [`/** ${texts[name]} */`, line];
  });
  if (catchall?.def.type === "unknown") lines.push("readonly [name: string]: unknown;");
  return `{\n${lines.map((line) => `${indent(depth + 1)}${line}\n`).join("")}${indent(depth)}}`;
}

const indent = (depth) => "  ".repeat(depth);
const grouped = (text) => (/^[\w.]+$|^\{[^}]*\}$/.test(text) ? text : `(${text})`);
