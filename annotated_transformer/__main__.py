"`python -m annotated_transformer` is the `annotated-transformer` command."
from annotated_transformer.cli import main

if __name__ == "__main__":
    main()
