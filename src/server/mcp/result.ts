/** What a tool of the MCP endpoint answers. */
export interface ToolResult {
  readonly content: readonly { readonly type: "text"; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** As the protocol has it: the model reads what went wrong, and may do better. */
export const failure = (message: string): ToolResult => ({
  content: [{ type: "text", text: message }],
  isError: true,
});

export const answerWith = (value: Readonly<Record<string, unknown>>): ToolResult => ({
  content: [{ type: "text", text: JSON.stringify(value, null, 2) }],
  structuredContent: value,
});
