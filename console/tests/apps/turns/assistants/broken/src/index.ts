function Next() {
  throw new Error("next is broken");
}
