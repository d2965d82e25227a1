/** Pictures that are inside the log. Of others the path is shown: the page reads no files. */
import type { ImagePart } from "../../src/protocol/items.ts";
import { nameText } from "../model/plain.ts";

/** SVG is markup: it is not drawn. */
const isPicture = (mime: string): boolean => /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(mime);

export function Pictures({ images }: { readonly images: readonly ImagePart[] }) {
  if (images.length === 0) return null;
  return (
    <div class="pictures">
      {images.map((image, index) =>
        image.data !== undefined && isPicture(image.mime) ? (
          <img
            key={index}
            src={`data:${image.mime};base64,${image.data}`}
            alt={nameText(image.path ?? "A picture of the agent")}
          />
        ) : (
          <code key={index}>{nameText(image.path ?? image.mime)}</code>
        ),
      )}
    </div>
  );
}
