"""What agents are told about each tool before they use it, in the words of the protocols that the tools speak.

One module per tool with its `MANUAL`, which is Markdown: the first line is a heading that says in one line what the
tool does, sentences that belong together stand in one line each. `writing` has what all writing tools have in common.
Texts may hold placeholders, so that the anchors in their examples are real ones: see `filling`.
"""
