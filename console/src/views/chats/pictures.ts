// Pictures that are sent within a message.

/** Larger files are refused before they are read. */
export const MOST_PICTURE = 5_000_000;

/** The file as a `data:` address. */
export function readPicture(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
}
