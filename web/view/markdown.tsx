/**
 * Markdown as elements. What an agent wrote is parsed into tokens, and tokens become elements of a fixed list: HTML in
 * it is shown as text, pictures are not loaded, links open nothing but web addresses. No markup is ever handed to the
 * browser to parse.
 */
import { lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { memo } from "preact/compat";
import { useRef } from "preact/hooks";
import { type CodeBlock, cut, type MarkdownBlock, openCutter } from "../model/blocks.ts";
import { isParsable } from "../model/markup-limits.ts";
import { visibleText } from "../model/plain.ts";
import { CopyButton } from "./copy.tsx";

/** Blocks of this length are laid out when one scrolls to them. */
const LONG = 1_500;

/** Only the last block of a text that streams changes: those before it are parsed and drawn once. */
export function Markdown({ text, streaming }: { readonly text: string; readonly streaming: boolean }) {
  const cutter = useRef(openCutter()).current;
  const open = cut(cutter, { text, isStreaming: streaming });
  const blocks = open === null ? cutter.done : [...cutter.done, open];
  // A link may be used before its target is defined, so these are added when all of them are known.
  const definitions = streaming ? "" : cutter.definitions;
  return (
    <div class="md">
      {blocks.map((block, index) => {
        if (block.type === "code") return <Code key={index} language={block.language} pieces={block.pieces} />;
        const isLinked = definitions !== "" && block.text.includes("[");
        return <Block key={index} text={block.text} joined={block.joined} definitions={isLinked ? definitions : ""} />;
      })}
      {streaming && <span class="caret" aria-hidden="true" />}
    </div>
  );
}

interface BlockProps extends Omit<MarkdownBlock, "type"> {
  readonly definitions: string;
}

const Block = memo(({ text, joined, definitions }: BlockProps) => {
  const source = definitions === "" ? text : `${text}\n\n${definitions}`;
  const name = `block${joined ? " joined" : ""}${text.length > LONG ? " long" : ""}`;
  return (
    <div class={name}>
      {isParsable(source) ? blockNodes(lexer(source), 0) : <p class="plain">{visibleText(text)}</p>}
    </div>
  );
});

/** Maximum depth of lists, quotes and emphasis inside each other; what is deeper is shown as it was written. */
const MAX_DEPTH = 24;

function blockNodes(tokens: readonly Token[], depth: number): ComponentChildren[] {
  return tokens.map((token, key) => blockNode(token, { key, depth }));
}

/** Where a token is: its place among its siblings, and how many others it is inside of. */
interface Place {
  readonly key: number;
  readonly depth: number;
}

/** The types of `marked` allow any token of an extension; there are none here. */
const isToken = <Type extends Tokens.Generic["type"]>(token: Token, type: Type): token is Token & { type: Type } =>
  token.type === type;

function blockNode(token: Token, { key, depth }: Place): ComponentChildren {
  if (depth > MAX_DEPTH) return <p key={key}>{visibleText(token.raw)}</p>;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      // No heading of the page: an answer must not change its outline.
      return (
        <p key={key} class={`heading h${Math.min(4, Number(token.depth))}`}>
          {inline(token.tokens)}
        </p>
      );
    }
    case "paragraph":
      return <p key={key}>{inline(token.tokens)}</p>;
    case "code":
      return <Code key={key} pieces={[String(token.text)]} language={String(token.lang ?? "")} />;
    case "blockquote":
      return <blockquote key={key}>{blockNodes(token.tokens ?? [], depth + 1)}</blockquote>;
    case "list":
      return listNode(token, { key, depth });
    case "table":
      return tableNode(token, key);
    case "hr":
      return <hr key={key} />;
    case "text":
      return (
        <span key={key}>
          {"tokens" in token && token.tokens !== undefined ? inline(token.tokens) : plain(token.text)}
        </span>
      );
    default:
      return <p key={key}>{visibleText(token.raw)}</p>;
  }
}

function Code({ language, pieces }: Omit<CodeBlock, "type">) {
  return (
    <figure class="code">
      <figcaption>
        <span>{visibleText(language)}</span>
        <CopyButton text={() => pieces.join("").replace(/\n$/, "")} what="code" />
      </figcaption>
      <pre tabIndex={0}>
        {pieces.map((piece, index) => (
          <Piece key={index} text={piece} />
        ))}
      </pre>
    </figure>
  );
}

const Piece = memo(({ text }: { readonly text: string }) => (
  <span class={text.length > LONG ? "long" : undefined}>{visibleText(text)}</span>
));

function listNode(token: Token, { key, depth }: Place): VNode | null {
  if (!isToken(token, "list")) return null;
  const { ordered, items, start }: Tokens.Generic = token;
  const rows: readonly Tokens.ListItem[] = items;
  const content = rows.map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined}>
      {item.task && (
        <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked ? "done" : "open"} />
      )}
      {blockNodes(item.tokens, depth + 1)}
    </li>
  ));
  if (!ordered) return <ul key={key}>{content}</ul>;
  return (
    <ol key={key} start={typeof start === "number" ? start : 1}>
      {content}
    </ol>
  );
}

function tableNode(token: Token, key: number): VNode | null {
  if (!isToken(token, "table")) return null;
  const { header, rows }: Tokens.Generic = token;
  const cells = (list: readonly Tokens.TableCell[], Tag: "th" | "td") =>
    list.map((cell, index) => <Tag key={index}>{inline(cell.tokens)}</Tag>);
  const lines: readonly (readonly Tokens.TableCell[])[] = rows;
  return (
    <div key={key} class="table" tabIndex={0} role="group" aria-label="table">
      <table>
        <thead>
          <tr>{cells(header, "th")}</tr>
        </thead>
        <tbody>
          {lines.map((row, index) => (
            <tr key={index}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[] | undefined, depth = 0): ComponentChildren[] {
  return (tokens ?? []).map((token, key) => inlineNode(token, { key, depth }));
}

function inlineNode(token: Token, { key, depth }: Place): ComponentChildren {
  if (depth > MAX_DEPTH) return visibleText(token.raw);
  switch (token.type) {
    case "text":
      return "tokens" in token && token.tokens !== undefined ? inline(token.tokens, depth + 1) : plain(token.text);
    case "escape":
      return plain(token.text);
    case "strong":
      return <strong key={key}>{inline(token.tokens, depth + 1)}</strong>;
    case "em":
      return <em key={key}>{inline(token.tokens, depth + 1)}</em>;
    case "del":
      return <del key={key}>{inline(token.tokens, depth + 1)}</del>;
    case "codespan":
      return <code key={key}>{visibleText(token.text)}</code>;
    case "br":
      return <br key={key} />;
    case "link":
      return <Link key={key} href={token.href} children={inline(token.tokens, depth + 1)} />;
    case "image":
      // Loading a picture from elsewhere would let its server know that somebody looks.
      return <Link key={key} href={token.href} children={`Picture: ${visibleText(token.text || token.href)}`} />;
    default:
      return visibleText(token.raw);
  }
}

function Link({ href, children }: { readonly href: string; readonly children: ComponentChildren }) {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) {
    return (
      <>
        {children} <code>{visibleText(href)}</code>
      </>
    );
  }
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={visibleText(href)}>
      {children}
    </a>
  );
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: " " };

const plain = (text: string): string =>
  visibleText(text.replaceAll(/&(amp|lt|gt|quot|#39|nbsp);/g, (all, name: string) => entities[name] ?? all));
