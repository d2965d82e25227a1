/** The media types of files that models and clients are shown as they are, by their ending. */

export const mediaTypes: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".pdf": "application/pdf",
};

/** Whether a file is a picture: by what its sender says, else by its ending. */
export const isImage = ({ path, mime }: { readonly path: string; readonly mime?: string | undefined }): boolean =>
  mime === undefined ? /\.(png|jpe?g|gif|webp)$/i.test(path) : mime.startsWith("image/");
